"""``python -m tfx.model_zoo.sentence_encoder``."""

from tfx.model_zoo.sentence_encoder.train import main

if __name__ == "__main__":
    main()
