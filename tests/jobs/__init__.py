"""Jobs: tables that are made block by block."""
