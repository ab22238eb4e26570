"""``python -m tfx.model_zoo.policy_gradient``."""

from tfx.model_zoo.policy_gradient.train import main

if __name__ == "__main__":
    main()
