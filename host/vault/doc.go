// Package vault keeps some records of a journal unreadable on the disk.
//
//	store ──▶ vault ──▶ journal      a Secret's record is sealed on its way down
//	store ◀── Open ◀─── records      and opened after the journal was loaded
//
// A sealed record is protected against a reader of the disk, of a backup of the journal or
// of a quarantined file, if that reader does not have the key beside it. It is bound to
// its name, so that the content of one record cannot be put under another name. Each node
// has one key, which its first start makes. Without the key only the sealed records are
// lost.
//
// Start reading at Journal.Commit.
package vault
