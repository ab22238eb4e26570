"""``python -m tfx.model_zoo.tabular``."""

from tfx.model_zoo.tabular.train import main

if __name__ == "__main__":
    main()
