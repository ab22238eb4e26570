"""``python -m tfx.model_zoo.resnet50``."""

from tfx.model_zoo.resnet50.train import main

if __name__ == "__main__":
    main()
