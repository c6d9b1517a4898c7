"""Trainings: settings, the task, the runner, and the records they leave."""
