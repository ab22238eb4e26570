"""Input pipelines of TensorFlow 1: readers and queues that threads fill while sessions take."""
