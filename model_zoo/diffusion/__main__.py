"""``python -m tfx.model_zoo.diffusion``."""

from tfx.model_zoo.diffusion.train import main

if __name__ == "__main__":
    main()
