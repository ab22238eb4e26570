"""``python -m tfx.model_zoo.forces``."""

from tfx.model_zoo.forces.train import main

if __name__ == "__main__":
    main()
