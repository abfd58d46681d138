// Pack writes the documents into one archive, which a release embeds in their place: a third of their size.
package main
