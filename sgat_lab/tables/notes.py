"""What to know about an experiment's numbers: misses against the paper, and causes."""

from __future__ import annotations

SECONDS = (
    "Seconds say what is slow, not how slow: part of the trainings ran on an H200, up"
    " to 14 at once, the others on CPU cores beside other work, one thread each."
)
NOTES: dict[str, tuple[str, ...]] = {
    "table2": (
        SECONDS,
        "Citeseer: SGAT-2head misses the paper's 71.5 by 0.2, within its standard"
        " error of 0.26, and with 50 seeds it has 71.6 ± 0.13 (`repeats`); a plain"
        " program written for the purpose has the same scores (docs/log.md).",
        "Removed edges on the citation graphs: the paper's 1 to 2 % fit the gates drawn"
        " in training, not those of evaluation, which keep every edge.",
        "Computers and Photo are asked for their share (`keep` 0.45 and 0.55), because"
        " λ is a cliff there: ten times more can remove all instead of nothing.",
        "MLP, GCN and GAT on the citation graphs have settings chosen by our search;"
        " the published numbers come from other recipes, which `recipes` runs.",
        "Top-k attention: the paper's loses 5 points to its GAT-2head on both Amazon"
        " graphs; ours loses at most 2 on Computers and none on Photo. The paper does"
        " not say which layer ranks the edges, nor how long the second training is.",
        "On Computers, Photo and Pubmed several methods are ahead of SGAT, a GCN on an"
        " unlearned sparser graph among them.",
        "LAGCN adds edges: a negative share is removed.",
    ),
    "table3": (
        SECONDS,
        "On every disassortative graph SGAT-2head closes all gates and is an MLP. It is"
        " level with the MLP on Texas, Wisconsin and Cornell under random splits, and"
        " on the fixed ones but for Cornell (-3.8 ± 1.0). That is chance, for each"
        " split has one training: with five it is -0.0 ± 0.6 (`repeats`), with ten"
        " +0.2 ± 0.4.",
        "A GAT that keeps nodes apart from their neighbours is ahead of SGAT on most of"
        " them, and GraphSAGE, which does so too, on Texas; see `heterophily`.",
        "Actor: above the paper's 35.7 under random splits since bias vectors were left"
        " out (docs/log.md), below an MLP with less dropout.",
        "Cornell: the paper's 82.4 is out of reach with the files corrected in 2022,"
        " for the MLP too; with the files until 2022 both are above it, so the paper's"
        " number is probably of those.",
        "GAT on Actor: the paper's 34.6 is 6 points above every GAT here, and 8 above"
        " the one of Zhu et al. on the fixed splits; the cause is not known.",
        "Geom-GCN in the paper's table is cited from Pei et al., who used the fixed"
        " splits; it stands beside the Poincaré row of the random splits.",
        "Texas: the paper's 86.2 lies within one standard deviation of ours over other"
        " random splits.",
        "Geom-GCN: with every embedding ours is above the published numbers on Texas"
        " and Wisconsin, by up to 17 points, and 4 to 7 below on Actor; its settings"
        " come from our search, and places from our code (docs/baselines.md), not from"
        " the authors' files. On Actor no two dimensions hold the graph: neighbours in"
        " the disc are hardly neighbours in the graph.",
    ),
    "fig2": (
        "Half of the edges have a variance below 0.001: the heads of GAT give an edge"
        " nearly the same weight, as the paper says.",
    ),
    "fig3": (
        "The share removed is the one asked for (`keep` = 0.54). In five of ten seeds"
        " at least 31 of 32 are right.",
    ),
    "fig4": (
        "PPI is not at hand; Twitch stands in for it: 4 % of the edges are kept after"
        " the first epoch, none in the end.",
    ),
    "fig5": (
        "On Cora the three orders lie within a point or two of each other: evaluation"
        " keeps every edge, and the additive score says which senders are bad, not"
        " which pairs. On Photo, where 45 % are closed, the order matters: the highest"
        " scores first costs most. On Texas nearly all edges are closed already.",
    ),
    "fig6": (
        "λ is a cliff between 1e-5 and 1e-3 on Cora and between 1e-6 and 1e-5 on Photo,"
        " where the share removed is anything by seed. On Texas most edges go even"
        " without a price, because they mislead.",
    ),
    "fig7": ("The differences between numbers of heads are within the spread.",),
    "recipes": (
        "Differs from the papers: weight decay on all layers, and the epoch of best"
        " validation accuracy instead of early stopping by loss. GraphSAGE's paper has"
        " no numbers on these graphs.",
        "GAT: its authors' code also drops projected features before they are summed,"
        " PyG's layer does not; with that, Cora and Citeseer have the published 83.0"
        " and 72.5, and Pubmed stays a point below. Which epoch is taken is not the"
        " cause (docs/log.md).",
    ),
    "repeats": (
        "What ten seeds missed on Citeseer and on Cornell's fixed splits was chance; so"
        " was that they put the recommended row below the others on Photo. SGAT-2head"
        " behind the MLP on Actor is not chance.",
    ),
    "estimators": (
        "With half of the edges to keep the order is not the same on the two graphs: no"
        " estimator is best.",
    ),
    "robustness": (
        "Settings are chosen by validation with 100 % cross-class edges added, for all"
        " methods alike (5 settings, 2 seeds), and hold for all amounts; without added"
        " edges those of the other tables hold.",
        "The paper's gate does not tell added edges from original ones. Evidence does"
        " without being told how many there are (docs/method.md, section 9).",
        "Where a method hears nobody any more (PTDNet and SGAT-2head on Pubmed, all"
        " edges removed) it has become an MLP.",
    ),
    "planted": (
        "Where nothing is planted the recommended row removes nothing. With features"
        " that carry signal it removes 96, 96, 96, 95 and 94 % of 10, 30, 50, 70 and"
        " 90 % planted among 20 classes (signal 2), 98 to 100 % of what it removes is"
        " planted, and AUC is 0.984 to 0.952. The paper's gate removes at random (AUC"
        " 0.50 to 0.51).",
        "Best possible: belief propagation that is told all rates, class means and the"
        " share of noise, for which the gates must guess; it starts from the truth.",
        "Where 10 % of the nodes are labelled instead of 60 %, AUC is 0.967 at 70 %"
        " planted with signal 2, less with less signal; at 90 % (signal 2) the share of"
        " noise is found, but hardly which edges it is (0.71 where 0.89 is possible),"
        " and nearly all go. Of 5 classes a fifth of the planted edges joins one class"
        " and looks like the others, which bounds AUC at 0.90 over all; between classes"
        " it is 0.99 up to 70 % (signal 2).",
        "Training moves the bias of the gates, because more edges help the classifier:"
        " without it recall is higher and validation lower (docs/log.md).",
        "Shuffled labels and features without signal still leave the graph itself: 20"
        " blocks of degree 20 show in common neighbours, 5 blocks of degree 10 hardly"
        " do, and there nothing is removed and all scores are near their prior.",
    ),
    "heterophily": (
        "Rows other than the recommended settings are those of table 3.",
        "Actor: edges do not choose classes there, so the recommended settings hear"
        " nobody and are an MLP (docs/method.md, section 10), which starts like one"
        " since small initial weights of the read-out were chosen by validation.",
        "The recommended row tries the settings that the MLP tries.",
        "What was tried, with what result, is in docs/log.md; test scores of random"
        " splits of other seeds were looked at while the read-out was made.",
    ),
}
"""Sentences by the name of the experiment; `docs/log.md` has what was tried."""
