"""``python -m tfx.model_zoo.char_lstm``."""

from tfx.model_zoo.char_lstm.train import main

if __name__ == "__main__":
    main()
