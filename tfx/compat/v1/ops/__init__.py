"""Operations whose arguments TensorFlow 1 has otherwise than TensorFlow 2."""
