"""ResNet-50 (He, Zhang, Ren, Sun, CVPR 2016), and a small one of the same blocks."""
