"""Operations on plain JSON values, which `batch` and the command line serve (docs/batch.md)."""
