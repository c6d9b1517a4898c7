"""The lab: the paper's tables and figures, its rivals, and the search for settings.

`sgat-lab --help` lists its commands. Each folder imports only those above it:

    config.py      settings of the library, and the method
    sparsifiers.py, resistance.py, embeddings/, synthetic/    ways to choose edges, to
                   place nodes, and to make graphs
    baselines/     one method per file, trained by the trainer of SGAT
    configs/       settings of every row of the tables
    trials/        tasks, the runner, and the records of finished trainings
    tables/        records laid out beside published numbers; the document
    experiments/   one file per table or figure, and the search
    compare/       ways to choose edges at the same budgets, on any graph
    cli/           the command line
"""
