package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// RunDivvy runs the program as a user does; its answer is JSON. Whether it said no (exit status 1 or 3).
func (env *Env) RunDivvy(into any, args ...string) (no bool, err error) {
	command := exec.CommandContext(env.Ctx, env.Divvy, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+env.Path("kubeconfig"))
	said, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		// 3 is a negative result; 1 may be one, as of a drain that some pods stay after.
		no = exit.ExitCode() == 1 || exit.ExitCode() == 3
		if !no || len(said) == 0 {
			return no, fmt.Errorf("divvy %s: %w: %s", strings.Join(args, " "), err, exit.Stderr)
		}
	} else if err != nil {
		return false, err
	}
	if into == nil {
		return no, nil
	}
	if err := json.Unmarshal(said, into); err != nil {
		return no, fmt.Errorf("divvy %s: %w: %s", strings.Join(args, " "), err, said)
	}
	return no, nil
}
