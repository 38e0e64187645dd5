"""The papers' own figures, and the page that sets them beside what the experiments found."""
