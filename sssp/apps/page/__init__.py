"""The map page: a local server, and the page in the browser that shows distances on click."""
