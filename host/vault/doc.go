// Package vault keeps some records of a journal unreadable on the disk.
//
//	store ──▶ vault ──▶ journal      a Secret's record is sealed on its way down
//	store ◀── Open ◀─── records      and opened after the journal was loaded
//
// What is sealed is protected against whoever reads the disk, a backup of the
// journal or a quarantined file, but not the key beside it. It is bound to its
// record's name, so that one record's content cannot be put under another name.
// There is one key a node, made at its first start. Without it the sealed records
// are lost, and only they.
//
// Start reading at Journal.Commit.
package vault
