"""``python -m tfx.model_zoo.vae``."""

from tfx.model_zoo.vae.train import main

if __name__ == "__main__":
    main()
