# The program and nothing else: it is static. Mostly to be copied from, into an image that
# has the agent and git:
#
#     COPY --from=ghcr.io/seed-82afce7a/rewind /rewind /usr/local/bin/rewind
#
# Alone it records a directory as who owns it: docker run --rm -u "$(id -u):$(id -g)"
# -v "$PWD:/w" ghcr.io/seed-82afce7a/rewind snapshot. Without git in the image it leaves
# out what only git can do (filters, rare encodings); without a repository its store is
# in /state, which another volume has to keep.
FROM scratch
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/rewind /rewind
ENV HOME=/state XDG_STATE_HOME=/state
WORKDIR /w
ENTRYPOINT ["/rewind"]
