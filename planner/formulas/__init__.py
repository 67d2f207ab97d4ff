"""The model's equations: one pure function of one expression for each, read by people and translated for Excel."""
