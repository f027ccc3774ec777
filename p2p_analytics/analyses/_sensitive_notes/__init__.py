"""Private matters in notes: words, phrases and emoji of lists, and addresses and numbers by their form."""
