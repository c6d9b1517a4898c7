"""Made graphs of the shape of benchmarks whose files are not at hand."""
