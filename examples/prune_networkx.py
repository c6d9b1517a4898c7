"""Remove half of a networkx graph's edges and see what the classifier thought of them.

python examples/prune_networkx.py
"""

from itertools import pairwise

import networkx as nx

import sgat

club = nx.karate_club_graph()
for node in club:
    club.nodes[node]["split"] = "train" if node in (0, 33) else "test"

classifier = sgat.SGATClassifier(keep=0.5, attention_dropout=0.0, seed=0)
classifier.fit(club, label="club")
small = classifier.sparsify()

print(f"accuracy on the unlabelled members: {classifier.score():.1%}")
print(f"edges: {club.number_of_edges()} before, {small.number_of_edges()} after")

scores = classifier.edges_.set_index(["src", "dst"])
leaders = nx.shortest_path(club, 0, 33)
for pair in pairwise(leaders):
    edge = scores.loc[pair]
    print(f"{pair}: log α {edge.log_alpha:+.2f}, {'kept' if edge.kept else 'removed'}")
