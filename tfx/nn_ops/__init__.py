"""Operations of ``tfx.nn`` that are loops of ordinary operators, traced once: CTC."""
