"""A sentence encoder: BERT's architecture, MiniLM's weights, fine-tuned by LoRA."""
