package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Invite returns a link that signs one browser in to the agent's dashboard.
func (a *Agent) Invite(ctx context.Context) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://node/ui/code", nil)
	if err != nil {
		return "", fmt.Errorf("ask for a link: %w", err)
	}
	response, err := a.HTTP().Do(request)
	if err != nil {
		return "", fmt.Errorf("ask for a link: %w", err)
	}
	defer response.Body.Close()
	var answer struct{ Links []string }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return "", fmt.Errorf("ask for a link: %w", err)
	}
	if len(answer.Links) == 0 {
		return "", errors.New("ask for a link: the agent gives none")
	}
	return answer.Links[0], nil
}
