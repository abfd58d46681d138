package node

// Neighbour is another node that the dashboard of this one shows.
type Neighbour struct {
	Name string
	URL  string // where its own dashboard is: https://HOST:PORT
}
