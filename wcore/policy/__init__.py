"""Pure: the decision and what it consults. Facts come in as values, a verdict goes out."""
