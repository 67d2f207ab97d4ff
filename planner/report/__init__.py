"""The PDF report: what a study says, as pages for those who decide."""
