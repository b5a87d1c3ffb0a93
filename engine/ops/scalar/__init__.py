"""Operations that work entry by entry: arithmetic, comparison, elementary and special functions."""
