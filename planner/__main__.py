"""`python -m planner` is the command line."""

from planner.cli import main

# Worker processes import this module anew.
if __name__ == "__main__":
    main()
