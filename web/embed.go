package web

import (
	"embed"
	"io/fs"
)

// The compiler embeds into variables only; nothing ever writes to this one.
//
//go:embed all:dist
var dist embed.FS

// Files returns the files of the dashboard, and whether it was built. Each file except fonts is
// compressed, with .gz behind its name. Without a build there is only missing.html.
func Files() (files fs.FS, built bool) {
	if app, err := fs.Sub(dist, "dist/app"); err == nil {
		if _, err := fs.Stat(app, "index.html.gz"); err == nil {
			return app, true
		}
	}
	missing, err := fs.Sub(dist, "dist")
	if err != nil {
		return dist, false
	}
	return missing, false
}
