"""The plan: scenarios, what they come to, their variants, checks and the recommendation."""
