"""`python -m solver_mapper`."""

from solver_mapper.cli import main

if __name__ == "__main__":
    main()
