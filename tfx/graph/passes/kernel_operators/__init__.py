"""What becomes an operator of our kernels' library, in plans for the CPU of this machine."""
