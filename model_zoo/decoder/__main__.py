"""``python -m tfx.model_zoo.decoder``."""

from tfx.model_zoo.decoder.train import main

if __name__ == "__main__":
    main()
