"""Protection of personal data: pseudonyms that replace user names, and filters of rows and objects."""
