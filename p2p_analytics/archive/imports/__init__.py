"""What imports of statements keep in an archive: rows, the people behind names, and the journal."""
