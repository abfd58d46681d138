// Package dashboard serves the files of the dashboard and the browser's way in.
//
//	page.go     files, to anybody: they hold nothing of the node
//	session.go  sign in with a code or a token, sign out, show the signed-in user
//
// It knows no route of the API. What the page asks for goes the way of every other
// request, and is authorized there.
//
// Start reading at Front in page.go.
package dashboard
