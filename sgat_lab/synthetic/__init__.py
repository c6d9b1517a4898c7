"""Made graphs: block models, and the shapes of benchmarks whose files are far."""
