package gitbridge

import "context"

// SetConfig lets git give a setting these values in the repository's own configuration,
// in place of those that it has there; none: it takes the setting away. It is for what a
// user asked for, by a name of ours.
func (r *Repo) SetConfig(ctx context.Context, name string, values []string) error {
	args := []string{"config", "--local"}
	if len(values) == 0 {
		_, err := r.git(ctx, nil, append(args, "--unset-all", name)...)
		if ended(err, 5) { // it is not there
			return nil
		}
		return err
	}
	how := "--replace-all"
	for _, v := range values {
		if _, err := r.git(ctx, nil, append(args, how, "--", name, v)...); err != nil {
			return err
		}
		how = "--add"
	}
	return nil
}
