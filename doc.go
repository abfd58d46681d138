// Package nodal embeds the documents of the program: README.md, SCOPE.md and the pages below docs. They can be embedded
// only from the directory above them, which is this one. The server shows them at /docs.
package nodal
