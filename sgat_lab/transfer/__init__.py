"""Classifiers across graphs: trained on one, used on another without its labels."""
