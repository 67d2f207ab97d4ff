"""`python -m planner` is the command line."""

from planner.cli import main

main()
