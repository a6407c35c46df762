/* The page on which a browser logs in if the master was built without its web interface. */
#ifndef DET_API_WEB_LOGIN_PAGE_H
#define DET_API_WEB_LOGIN_PAGE_H

struct req;

void login_page(struct req *r);

#endif
