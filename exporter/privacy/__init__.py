"""What must not get out: pseudonyms in the place of user names, and filters of rows and objects."""
