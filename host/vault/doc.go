// Package vault keeps some records of a journal unreadable on the disk.
//
//	store ──▶ vault ──▶ journal      a Secret's record is sealed on its way down
//	store ◀── Open ◀─── records      and opened after the journal was loaded
//	            ▲
//	            └── providers: a file beside the journal, a file elsewhere, a credential of systemd, a KMS plugin
//
// A sealed record is protected against a reader of the disk, of a backup of the journal or of a quarantined file, if that
// reader does not have the key. It is bound to its name, so that the content of one record cannot be put under another
// name.
//
//	vault.go     the journal that seals
//	record.go    the two forms of a sealed record
//	key.go       keys, and how they seal
//	provider.go  what a source of keys does; provider_file.go and provider_kms.go are the sources
//	look.go      reads the sources again and opens what did not open before
//	reseal.go    brings all records to the present key, and removes the keys before
//	ledger.go    which sources may have sealed records, and whether a change of keys is under way
//	state.go     what the API says of the key
//
// A record that does not open now, because its key is away or lost, costs itself alone: the store knows its name and why
// it cannot be read, and whatever does not use it goes on. docs/decisions/0035-the-key-may-live-elsewhere.md has the
// reasons.
//
// Start reading at Journal.Commit in vault.go, then Journal.renew in reseal.go.
package vault
