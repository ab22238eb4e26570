"""``python -m tfx.model_zoo.l2hmc``."""

from tfx.model_zoo.l2hmc.train import main

if __name__ == "__main__":
    main()
