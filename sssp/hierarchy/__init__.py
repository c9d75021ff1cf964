"""What is found once for a road network, so that new weights and queries take milliseconds."""
