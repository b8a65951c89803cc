"""The specification: one class per rule paragraph, each method one consequence."""
